// Package remote is a client for JSON APIs of other services with rate limit and retries. The
// importers of other services use it.
//
// Failure policy: temporary failures (no connection, status 5xx, 429) are retried with growing
// delays or the requested one. All other errors are returned. No error contains a credential, and
// credentials are sent only to the host of the base URL.
package remote
