package clock

var Steady = steady
