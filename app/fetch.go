package app

import (
	"context"
	"fmt"
	"time"
)

// FetchFiles fetches files for a team, with at most limit bytes together. After nil, the caller must
// call release when it no longer holds the contents. Errors: *FetchError, *FetchLimitError, that of
// ctx.
type FetchFiles func(ctx context.Context, team string, urls []string, limit int64) (contents [][]byte, release func(), err error)

// FileVersion is what a host says about the version of a file, for a request that answers only if it
// changed (RFC 9110, section 13). Empty members are unknown.
type FileVersion struct {
	ETag         string `json:"etag,omitzero"`
	LastModified string `json:"last_modified,omitzero"`
}

// FetchedFile is a file that was fetched. The caller must call Release when it no longer holds Content.
type FetchedFile struct {
	Content   []byte
	Unchanged bool // the host has the known version still; Content is nil
	Version   FileVersion
	Release   func()
}

// FetchChanged fetches a file of at most limit bytes for a team, unless it is still of a known version.
// Errors: those of FetchFiles.
type FetchChanged func(ctx context.Context, team, url string, known FileVersion, limit int64) (FetchedFile, error)

// FetchReason is why a file was not fetched, as a phrase after a field name.
type FetchReason string

// The reasons.
const (
	FetchForbidden   FetchReason = "names an address that this server does not fetch from: only public hosts are reached, by https on port 443"
	FetchUnreachable FetchReason = "could not be fetched: the host could not be reached"
	FetchSlow        FetchReason = "could not be fetched within 10 seconds"
	FetchRefused     FetchReason = "could not be fetched: the host did not answer with the file (status 200)"
	FetchTooLarge    FetchReason = "could not be fetched: the attachments are larger than allowed"
)

// FetchError is why the file with an index was not fetched.
type FetchError struct {
	Index  int
	Reason FetchReason
}

// Error implements error.
func (e *FetchError) Error() string { return fmt.Sprintf("file %d %s", e.Index, e.Reason) }

// FetchLimitError means that a team has fetched too much in this minute, or has too many calls
// waiting.
type FetchLimitError struct{ RetryAfter time.Duration }

// Error implements error.
func (e *FetchLimitError) Error() string { return "too many files are fetched" }
