package automations

import "mailer/app"

// SettingsPatch changes the settings of an automation. Nil members are unchanged.
type SettingsPatch struct {
	ReEntry      *app.ReEntry
	TopicID      *string // empty: none
	ExitOnOptOut *bool
}

func (p *SettingsPatch) apply(s *app.AutomationSettings) {
	if p.ReEntry != nil {
		s.ReEntry = *p.ReEntry
	}
	if p.TopicID != nil {
		s.TopicID = *p.TopicID
	}
	if p.ExitOnOptOut != nil {
		s.ExitOnOptOut = *p.ExitOnOptOut
	}
}
