// Package queue is what people do with mail that waits: look at it, hold and release it,
// have it tried now, drop it, move it to another relay, and send again what failed.
//
// Failure policy: an act is one of a set, exact against the wire: what is past its final
// dot is left alone and counted as unchanged.
package queue
