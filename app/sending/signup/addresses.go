package signup

import (
	"context"
	"fmt"
	"os"
	"strings"

	"mailer/app"
	"mailer/app/kit/mailbox"
)

// domainOf returns the domain of an address in lower-case A-labels.
func domainOf(key app.AddressKey) string {
	text := key.String()
	return text[strings.LastIndexByte(text, '@')+1:]
}

// isDisposable reports whether a domain, or one above it, is on the operator's list.
func (s *Service) isDisposable(domain string) bool {
	for found := len(s.Disposable) > 0; found; _, domain, found = strings.Cut(domain, ".") {
		if s.Disposable[domain] {
			return true
		}
	}
	return false
}

// receives reports whether a domain can receive mail: it has an MX record that is not the null MX (RFC
// 7505), or else an address (RFC 5321 5.1). An error means that nothing is known.
func receives(ctx context.Context, ask app.DNSLookup, domain string) (bool, error) {
	mx, err := ask(ctx, domain, app.DNSMX)
	if err != nil || !mx.NameExists {
		return false, err
	}
	if len(mx.Records) > 0 {
		return len(mx.Records) > 1 || strings.Trim(mx.Records[0].Text, ".") != "", nil
	}
	for _, kind := range []app.DNSType{app.DNSA, app.DNSAAAA} {
		answer, err := ask(ctx, domain, kind)
		if err != nil || len(answer.Records) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// maxDisposable bounds the list of disposable domains, in bytes.
const maxDisposable = 32 << 20

// ReadDisposable reads a list of disposable domains: one a line, lines with # are comments. Errors name the
// line.
func ReadDisposable(file string) (map[string]bool, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxDisposable {
		err = fmt.Errorf("%s is larger than %d MB", file, maxDisposable>>20)
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	domains := map[string]bool{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, err := mailbox.ParseDomain(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %s", file, n, err)
		}
		domains[name] = true
	}
	return domains, nil
}
