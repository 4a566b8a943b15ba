// Package resend reads an account of Resend out of its published API into an archive.
// `mailer import resend` may import it.
//
// An account changes while it is read, which takes a day of one with a million contacts
// and topics. So whoever unsubscribed is read twice, the second time after all else, and
// suppressions last: what is true at the end wins, since opt-outs only add up. What was
// said about topics is read once, with each contact.
//
// Failure policy: what fails for a while is tried again; any other error ends the
// reading, which goes on from the last page. Nothing of an account is left out without
// an archive.Unmovable that names it.
package resend
