// Package listmonk reads a listmonk through its HTTP API into an archive.
//
// Subscribers get the same mail in both systems, or less here where the systems differ. Public
// lists become topics with the default opt-out, so that only explicit choices count. Private lists
// become segments of those who would get their mail. Subscribers who are not enabled are
// unsubscribed from all.
//
// Failure policy: data up to the last stored position is kept, and reading continues there. No
// subscriber is missed because of concurrent changes: lists are read from the last page to the
// first, so that deletions move items to pages that are still to be read. Opt-outs since the
// beginning are read again at the end.
package listmonk
