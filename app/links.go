package app

import "strings"

// CutScheme returns target without http:// or https://.
func CutScheme(target string) (rest string, ok bool) {
	for _, scheme := range []string{"https://", "http://"} {
		if len(target) >= len(scheme) && strings.EqualFold(target[:len(scheme)], scheme) {
			return target[len(scheme):], true
		}
	}
	return "", false
}

// HostOfLink returns the host of an http or https URL in lower case without the port; empty: not
// such a URL.
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

// OwnHost reports whether a host belongs to the organizational domain of domain.
func OwnHost(host, domain string) bool {
	return host == domain || OrganizationalDomain(host) == OrganizationalDomain(domain)
}
