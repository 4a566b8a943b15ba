package inbound

import "mailer/app"

// AutoSubmitted is a stub.
func (m *Message) AutoSubmitted(nullSender bool) app.AutoSubmitted { return app.AutoNone }
