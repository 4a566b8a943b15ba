package app

import (
	"strings"
	"testing"
)

// BenchmarkValidate measures the validation of a send.
func BenchmarkValidate(b *testing.B) {
	for name, html := range map[string]string{"short": "<p>Hi</p>", "5KB": strings.Repeat("<p>Hello, \"world\"</p>\n", 200)} {
		b.Run(name, func(b *testing.B) {
			in := &EmailInput{From: "Acme <hello@mail.example.com>", To: []string{"ann@example.org"}, Subject: "Your invoice", HTML: html}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := in.Validate(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
