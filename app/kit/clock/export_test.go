package clock

var Steady = adjust
