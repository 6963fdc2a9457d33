"""Cases: real scores that come with the package, to try things on."""
