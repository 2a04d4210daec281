"""The tools that come with the program, each made by a factory that receives what it needs."""
