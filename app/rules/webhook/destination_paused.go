package webhook

import (
	"slices"
	"time"

	"mailer/app"
)

// DestinationPausedData is the data of route.destination_paused: an address to which routes forward mail refused it too
// often.
type DestinationPausedData struct {
	Destination string   `json:"destination"` // the address
	Refusals    int      `json:"refusals"`    // in a row
	RouteIDs    []string `json:"route_ids"`   // routes that forward to it
	Result      string   `json:"result"`      // bounced, failed or complained: the last one
	PausedAt    string   `json:"paused_at"`
}

// DestinationPausedDataOf returns the data of a destination that was just paused by a result. routes are all of the team.
func DestinationPausedDataOf(d *app.ForwardAddress, routes []app.MailRoute, result app.LastEvent, at time.Time) DestinationPausedData {
	data := DestinationPausedData{Destination: d.Address, Refusals: d.Refusals, RouteIDs: []string{}, Result: string(result), PausedAt: app.FormatTime(at)}
	for i := range routes {
		if slices.ContainsFunc(routes[i].Actions, func(a app.RouteAction) bool { return a.Type == app.RouteForward && a.To == d.Address }) {
			data.RouteIDs = append(data.RouteIDs, routes[i].ID)
		}
	}
	return data
}
