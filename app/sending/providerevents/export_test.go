package providerevents

// Access for the tests in package providerevents_test.

const FeedbackPerWrite = feedbackPerWrite
