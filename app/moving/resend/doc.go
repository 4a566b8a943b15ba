// Package resend reads a Resend account through its public API into an archive.
//
// An account changes while it is read, which takes a day for a million contacts with topics.
// Therefore contacts are read a second time at the end for opt-outs, and suppressions last.
// Opt-outs are only ever added. Topic choices are read once, with each contact.
//
// Failure policy: temporary failures are retried. Any other error ends the read, which can
// continue from the last page. Nothing is left out without an archive.Unmovable.
package resend
