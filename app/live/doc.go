// Package live tells listeners of a team what changes while they look. It knows nothing
// of ours.
//
// Failure policy: nobody waits for a listener; one that reads too slowly is cut off.
package live
