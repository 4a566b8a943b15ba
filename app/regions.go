package app

// DefaultRegion is the region of a relay that was given without one.
const DefaultRegion = "us-east-1"

// CaptureRegion is the relay name of the capture transport, where no relay is
// configured and nothing leaves the machine.
const CaptureRegion = "capture"

func IsRegion(s string) bool {
	if s == "" || len(s) > 40 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
