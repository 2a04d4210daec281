"""What the tests stand on: scripted providers on loopback, real processes, a real terminal."""
