module.exports = {
  mailer: {
    input: "openapi.json",
    output: { target: "orval/client.ts", client: "fetch", baseUrl: process.env.MAILER_URL },
  },
};
