package audience

// BatchError says why an item of a permissive batch was not accepted.
type BatchError struct {
	Index   int    `json:"index"`
	Message string `json:"message"`
}
