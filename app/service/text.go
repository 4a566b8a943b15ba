package service

func TextOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
