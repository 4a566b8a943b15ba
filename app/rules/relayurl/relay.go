// Package relays reads what the operator wrote about outgoing SMTP servers and says
// what each of them needs: of the DNS, and in a message. Transports, services and the
// program itself may import it; it does no I/O and keeps no state.
//
// Failure policy: a relay that is not understood is an error that names it by its
// place and repeats nothing of its text, since that holds a password.
package relayurl

import (
	"fmt"
	"time"
)

// Profile names what is special about a relay's provider.
type Profile string

// The profiles.
const (
	ProfileGeneric Profile = "generic"
	ProfileSES     Profile = "ses" // rewrites Message-ID and Date: they stay unsigned
)

// TLSMode says when a connection must be encrypted.
type TLSMode string

// The TLS modes. All but TLSOff verify the certificate where TLS is used;
// TLSOpportunistic goes on in the clear where STARTTLS is not offered.
const (
	TLSRequired      TLSMode = "starttls"
	TLSImplicit      TLSMode = "implicit"
	TLSOpportunistic TLSMode = "opportunistic"
	TLSOff           TLSMode = "off"
)

// Relay is one outgoing SMTP server, which is a region to the API.
type Relay struct {
	Region      string
	Host        string
	Port        int
	User        string
	Password    string
	TLS         TLSMode
	CAFile      string        // PEM file of additional roots; empty: the system's alone
	Rate        float64       // messages a second; 0: no limit
	Daily       int64         // messages in any 24 h; 0: no limit
	Connections int           // at once; default 8
	Timeout     time.Duration // for each reply but that to the final dot; default 30 s
	Profile     Profile
	MaxWait     time.Duration // how long mail waits for it at most; 0: as the server has it, negative: for ever
	DKIM        bool          // sign before handing over; default true
	SoftBounce  bool          // 5xx waits like 4xx
	Hello       string        // name or [address] that EHLO says; empty: this machine's
	SPF         string        // mechanism that covers its outgoing addresses; empty: by profile and host
}

// String names the relay without its credentials.
func (r Relay) String() string {
	scheme := "smtp"
	if r.TLS == TLSImplicit {
		scheme = "smtps"
	}
	return fmt.Sprintf("%s (%s://%s:%d)", r.Region, scheme, r.Host, r.Port)
}
