// Package health tells the operator how everything is, and which command mends what is
// not well.
//
// Failure policy: a check that can't be made is one that fails, and says why.
package health
