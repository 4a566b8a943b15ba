package app

// Erased stands where an erased address stood. It is no address that could be
// parsed, sent to or found.
const Erased = "[erased]"

// IsErased tells whether this is what an erasure left of an address: no mail can
// go to it, and no header may show it.
func (a Address) IsErased() bool { return a == Address{Local: Erased} }
