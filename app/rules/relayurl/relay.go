// Package relayurl parses the URLs of relays (outgoing SMTP servers) and returns what each relay
// needs in the DNS and in messages. It does no I/O and keeps no state.
//
// Failure policy: an invalid relay is an error that names its position and never its text, which
// contains a password.
package relayurl

import (
	"cmp"
	"fmt"
	"time"
)

// Profile is a provider with special behaviour.
type Profile string

// The profiles.
const (
	ProfileGeneric Profile = "generic"
	ProfileSES     Profile = "ses" // rewrites Message-ID and Date, so they are not signed
)

// TLSMode says when a connection must be encrypted.
type TLSMode string

// The TLS modes. All but TLSOff verify the certificate. TLSOpportunistic continues without
// encryption if STARTTLS is not offered.
const (
	TLSRequired      TLSMode = "starttls"
	TLSImplicit      TLSMode = "implicit"
	TLSOpportunistic TLSMode = "opportunistic"
	TLSOff           TLSMode = "off"
)

// Relay is an outgoing SMTP server. It belongs to a region, which clients see and domains are bound
// to. The first relay of a region is its primary, the others are its reserves.
type Relay struct {
	Region      string
	Name        string // REGION/NAME, or REGION#2 for an unnamed reserve; empty: the region's
	Host        string
	Port        int
	User        string
	Password    string
	TLS         TLSMode
	CAFile      string        // PEM file with additional root certificates; empty: none
	Rate        float64       // messages in a second; 0: no limit
	Daily       int64         // messages in any 24 h; 0: no limit
	Connections int           // concurrent connections; default 8
	Timeout     time.Duration // for each reply except that to the final dot; default 30 s
	Profile     Profile
	MaxWait     time.Duration // maximum waiting time of mail; 0: the server's default, negative: no limit
	DKIM        bool          // sign messages; default true
	SoftBounce  bool          // treat 5xx like 4xx
	Hello       string        // name or [address] for EHLO; empty: this machine's
	SPF         string        // mechanism for its outgoing addresses; empty: by profile and host
}

// FullName returns the name by which a relay is known to operators: that of its region unless it has
// one of its own.
func (r Relay) FullName() string { return cmp.Or(r.Name, r.Region) }

// String returns the relay without its credentials.
func (r Relay) String() string {
	scheme := "smtp"
	if r.TLS == TLSImplicit {
		scheme = "smtps"
	}
	return fmt.Sprintf("%s (%s://%s:%d)", r.FullName(), scheme, r.Host, r.Port)
}
