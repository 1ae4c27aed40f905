"""
Tests of the package, without a service of Keyrail. `python3 -m unittest discover -s tests -t .` runs them.
"""
