module mailer/web/sdktest

go 1.26.0

require (
	github.com/emersion/go-msgauth v0.7.0
	github.com/emersion/go-sasl v0.0.0-20241020182733-b788ff22d5a6
	github.com/emersion/go-smtp v0.25.1
	github.com/miekg/dns v1.1.73
	github.com/resend/resend-go/v2 v2.28.0
	github.com/resend/resend-go/v3 v3.17.0
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
)

require (
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/net v0.57.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
