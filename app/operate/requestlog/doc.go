// Package requestlog stores which API requests were made, without their bodies, and searches them.
//
// Failure policy: requests never wait for the log. Entries that can't be stored are dropped and
// counted.
package requestlog
