package service

// TextOrNull returns what stands for a text in JSON where an empty one is null.
func TextOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
