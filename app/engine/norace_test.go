//go:build !race

package engine

// raceDetector tells that the race detector slows everything down.
const raceDetector = false
