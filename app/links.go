package app

import "strings"

// CutScheme returns what follows http:// or https://.
func CutScheme(target string) (rest string, ok bool) {
	for _, scheme := range []string{"https://", "http://"} {
		if len(target) >= len(scheme) && strings.EqualFold(target[:len(scheme)], scheme) {
			return target[len(scheme):], true
		}
	}
	return "", false
}

// HostOfLink is the host of an http or https address, in lower case and without its
// port; empty: it is none.
func HostOfLink(target string) string {
	rest, ok := CutScheme(target)
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if strings.HasPrefix(rest, "[") {
		host, _, _ := strings.Cut(rest[1:], "]")
		return strings.ToLower(host)
	}
	host, _, _ := strings.Cut(rest, ":")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// OwnHost reports whether a host is of the organization of a domain.
func OwnHost(host, domain string) bool {
	return host == domain || OrganizationalDomain(host) == OrganizationalDomain(domain)
}
