package providerevents

// What the tests of this package from outside reach into it for.

const FeedbackPerWrite = feedbackPerWrite
