package app

// ForgetIDs makes NewID start again at the current time.
func ForgetIDs() { lastID.Store(0) }
