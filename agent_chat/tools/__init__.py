"""Tools: declared by typed functions, gathered in a toolbox."""
