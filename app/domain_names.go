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

// parseSendingDomain parses the name of a sending domain and returns it in lower-case A-labels. It
// refuses what ParseDomain refuses, and public suffixes (publicsuffix.org, both sections), which
// belong to nobody alone. The error does not name a field.
func parseSendingDomain(name string) (string, error) {
	if strings.ContainsAny(name, "/@:") {
		return "", errors.New("must be a bare domain name like example.com, not a URL or an address")
	}
	name, err := mailbox.ParseDomain(name)
	if err != nil { // the message is about the domain of an address
		return "", errors.New(strings.Replace(err.Error(), "has a domain", "is a domain name", 1))
	}
	if suffix, _ := publicsuffix.PublicSuffix(name); suffix == name {
		return "", fmt.Errorf("must be a domain of your own: under %s anyone can register names (it is a public suffix); use a name below it, like example.%s", name, name)
	}
	return name, nil
}

// OrganizationalDomain returns the registered domain of name: the public suffix and one label more
// (RFC 7489 3.2). For a public suffix it returns name itself.
func OrganizationalDomain(name string) string {
	if org, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil {
		return org
	}
	return name
}

// parseReturnPath parses the label of a return path: at most 63 letters, digits and dashes. Empty
// means defaultReturnPath. The error does not name a field.
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

// parseTrackingSubdomain parses the labels of a tracking host below domain, or the whole host
// name. Empty means none. The result does not contain domain. The error does not name a field.
func parseTrackingSubdomain(s, domain string) (string, error) {
	if s == "" {
		return "", nil
	}
	wrong := fmt.Errorf("must be a label of a host name, or several with dots between, like links for links.%s", domain)
	if len(s) > mailbox.MaxInput || !utf8.ValidString(s) { // idna encodes invalid UTF-8 too
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

// checkNames refuses names that conflict: a return path equal to the tracking host, since no other
// record may exist beside a CNAME (RFC 1034 3.6.2), and names that are too long. Errors:
// CodeValidation.
func (d *Domain) checkNames() error {
	if d.TrackingSubdomain != "" && d.TrackingSubdomain == d.ReturnPath {
		return Invalid("tracking_subdomain", "must differ from the return path %s, since no other record can exist next to its CNAME", d.ReturnPath)
	}
	if len(d.ReturnPathName()) > MaxDomain {
		return Invalid("custom_return_path", "makes a name of more than %d bytes with %s", MaxDomain, d.Name)
	}
	if len(d.DKIMName(DKIMSelector))+len("9999") > MaxDomain { // leave space for the selectors of later keys
		return Invalid("name", "is too long: no DKIM record fits below it")
	}
	return nil
}

// ReturnPathName returns the host of the return path, which has the SPF record.
func (d *Domain) ReturnPathName() string { return d.ReturnPath + "." + d.Name }

// TrackingName returns the tracking host; empty: none.
func (d *Domain) TrackingName() string {
	if d.TrackingSubdomain == "" {
		return ""
	}
	return d.TrackingSubdomain + "." + d.Name
}

// DKIMName returns the name of the record of a selector (RFC 6376 3.6.2.1).
func (d *Domain) DKIMName(selector string) string {
	return selector + "._domainkey." + d.Name
}

// DmarcName returns the name of a domain's DMARC record (RFC 7489 6.1).
func DmarcName(domain string) string { return "_dmarc." + domain }
