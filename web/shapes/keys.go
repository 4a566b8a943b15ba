package shapes

import "mailer/app"

// KeptKey is an API key of a removed person that still works.
type KeptKey struct {
	ID   string `json:"id" format:"uuid"`
	Name string `json:"name"`
	Team string `json:"team" doc:"The name of its team"`
}

// NewKeptKeys converts keys.
func NewKeptKeys(keys []app.Key) []KeptKey {
	out := make([]KeptKey, len(keys))
	for i := range keys {
		out[i] = KeptKey{ID: keys[i].ID, Name: keys[i].Name, Team: keys[i].TeamName}
	}
	return out
}
