-- A script for wrk: it POSTs the JSON in BODY.
wrk.method = "POST"
wrk.body = os.getenv("BODY")
wrk.headers["Content-Type"] = "application/json"
