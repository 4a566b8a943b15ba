// Package listmonk reads a listmonk, over the HTTP API that it documents, into an
// archive. The commands may import it.
//
// What a subscriber would get there and here is the same, but where the two can't say the
// same: then here he gets less. Public lists are topics whose default is to be out, so that
// only a choice to be in counts; private ones are segments, which hold who would get their
// mail and nobody else. Who is not enabled is unsubscribed from all.
//
// Failure policy: what was read up to the last mark is kept, and reading goes on there.
// Nobody is passed over because others come and go meanwhile: each kind is read from its
// last page to its first, so that who is deleted moves the others towards pages that are
// still to come. Whoever opted out since the reading began is looked for at its end.
package listmonk
