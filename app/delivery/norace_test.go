//go:build !race

package delivery

// raceDetector reports whether the race detector slows everything down.
const raceDetector = false
