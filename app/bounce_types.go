package app

// BounceType says whether a bounced address is worth another email.
type BounceType string

// The types of bounce, in the words of Amazon SES, which readers of events know.
const (
	BouncePermanent    BounceType = "Permanent"    // no mail to it will arrive
	BounceTransient    BounceType = "Transient"    // later mail may
	BounceUndetermined BounceType = "Undetermined" // its server's words say neither
)
