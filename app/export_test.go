package app

// ForgetIDs has ids begin anew with the time.
func ForgetIDs() { lastID.Store(0) }
