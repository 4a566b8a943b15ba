// Package requestlog keeps which requests were made, for those who made them: never
// their bodies.
//
// Failure policy: requests do not wait for it; what it can't keep is dropped, and
// counted.
package requestlog
