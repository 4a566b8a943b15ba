package app

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"mailer/app/kit/mailbox"
)

// parseSendingDomain reads the name of a domain to send from and returns it in
// lower-case A-labels. Beyond what ParseDomain refuses it refuses a public suffix
// (publicsuffix.org, both sections), which belongs to nobody alone. The error
// says what is wrong and does not name a field.
func parseSendingDomain(name string) (string, error) {
	if strings.ContainsAny(name, "/@:") {
		return "", errors.New("must be a bare domain name like example.com, not a URL or an address")
	}
	name, err := mailbox.ParseDomain(name)
	if err != nil { // worded for the domain of an address
		return "", errors.New(strings.Replace(err.Error(), "has a domain", "is a domain name", 1))
	}
	if suffix, _ := publicsuffix.PublicSuffix(name); suffix == name {
		return "", fmt.Errorf("must be a domain of your own: under %s anyone can register names (it is a public suffix); use a name below it, like example.%s", name, name)
	}
	return name, nil
}

// OrganizationalDomain is the domain that was registered for name: the public
// suffix and one label more (RFC 7489 3.2). A public suffix is its own.
func OrganizationalDomain(name string) string {
	if org, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil {
		return org
	}
	return name
}

// parseReturnPath reads the label of a return path: letters, digits and dashes,
// 63 at most. Empty is defaultReturnPath. The error does not name a field.
func parseReturnPath(label string) (string, error) {
	if label == "" {
		return defaultReturnPath, nil
	}
	label = strings.ToLower(label)
	if !mailbox.IsHostLabel(label) {
		return "", errors.New("must be one label of a host name: up to 63 letters, digits and dashes, without a dot, and no dash at its ends")
	}
	return label, nil
}

// parseTrackingSubdomain reads the labels of a tracking host, which stand below
// domain; the whole host name is taken too. Empty is none. The result leaves
// domain out. The error does not name a field.
func parseTrackingSubdomain(s, domain string) (string, error) {
	if s == "" {
		return "", nil
	}
	wrong := fmt.Errorf("must be a label of a host name, or several with dots between, like links for links.%s", domain)
	if len(s) > mailbox.MaxInput || !utf8.ValidString(s) { // idna encodes what is no text
		return "", wrong
	}
	ascii, err := idna.Lookup.ToASCII(s)
	if err != nil {
		return "", wrong
	}
	ascii = strings.ToLower(ascii)
	if ascii == domain {
		return "", fmt.Errorf("must be below %s, not that domain itself", domain)
	}
	ascii = strings.TrimSuffix(ascii, "."+domain)
	for _, label := range strings.Split(ascii, ".") {
		if !mailbox.IsHostLabel(label) {
			return "", wrong
		}
	}
	if len(ascii)+1+len(domain) > MaxDomain {
		return "", fmt.Errorf("makes a host name of more than %d bytes with %s", MaxDomain, domain)
	}
	return ascii, nil
}

// checkNames refuses names that can't stand together: a return path that is the
// tracking host too, since no other record may stand beside a CNAME (RFC 1034
// 3.6.2), and names that grow too long. Errors: CodeValidation.
func (d *Domain) checkNames() error {
	if d.TrackingSubdomain != "" && d.TrackingSubdomain == d.ReturnPath {
		return Invalid("tracking_subdomain", "must differ from the return path %s, since no other record can exist next to its CNAME", d.ReturnPath)
	}
	if len(d.ReturnPathName()) > MaxDomain {
		return Invalid("custom_return_path", "makes a name of more than %d bytes with %s", MaxDomain, d.Name)
	}
	if len(d.DKIMName(DKIMSelector))+len("9999") > MaxDomain { // room for the selectors of rotations
		return Invalid("name", "is too long: no DKIM record fits below it")
	}
	return nil
}

// ReturnPathName is the name of the return path, where SPF is looked for.
func (d *Domain) ReturnPathName() string { return d.ReturnPath + "." + d.Name }

// TrackingName is the tracking host; empty: none.
func (d *Domain) TrackingName() string {
	if d.TrackingSubdomain == "" {
		return ""
	}
	return d.TrackingSubdomain + "." + d.Name
}

// DKIMName is where the record of a selector stands (RFC 6376 3.6.2.1).
func (d *Domain) DKIMName(selector string) string {
	return selector + "._domainkey." + d.Name
}

// DmarcName is where the policy of a domain stands (RFC 7489 6.1).
func DmarcName(domain string) string { return "_dmarc." + domain }
