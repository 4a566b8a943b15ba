package automations

// Start starts the dispatcher, which takes events and executes due steps. Only the server that leads calls it.
func (s *Service) Start() {}
