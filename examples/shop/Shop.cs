// A game whose players pay with points: they log in with berth in their browser, see their balance and buy a shield. The
// class Berth is all that a game made with Unity needs: it has no secret, because whoever has the game could read it, and
// so the app is a public one (`berth apps create "My game" --public`). Handling webhooks is for the game's server.
// For .NET Standard 2.0, and so for Unity and Mono:
//   mcs -r:System.Net.Http -r:System.Runtime.Serialization Shop.cs
//   BERTH_URL=https://berth.example.org BERTH_CLIENT_ID=… mono Shop.exe
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading.Tasks;

// [login]
[DataContract] public class Tokens {
  [DataMember(Name = "access_token")] public string AccessToken;
  [DataMember(Name = "refresh_token")] public string RefreshToken;
  [DataMember(Name = "session_token")] public string SessionToken;
}

public class Refusal : Exception {
  public readonly int Status;
  public Refusal(int status, string body) : base(body) { Status = status; }
}

public partial class Berth {
  readonly HttpClient http = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };
  readonly string berth, clientId, callback;
  string state, verifier, accessToken;

  // `callback` is one of the app's redirect URIs. If that is http://127.0.0.1/callback, it may have any port, so that the
  // game listens on a free one.
  public Berth(string berth, string clientId, string callback) {
    this.berth = berth;
    this.clientId = clientId;
    this.callback = callback;
  }

  // Returns what to open in the player's browser (Application.OpenURL). It comes back to the callback.
  public string LoginAddress() {
    state = Random();
    verifier = Random();
    using (var sha = SHA256.Create())
      return berth + "/api/oauth/authorize?" + Form(new Dictionary<string, string> {
        { "response_type", "code" },
        { "client_id", clientId },
        { "redirect_uri", callback },
        { "scope", "profile:read points:read points:spend" },
        { "state", state },
        { "code_challenge", Base64Url(sha.ComputeHash(Encoding.ASCII.GetBytes(verifier))) },
        { "code_challenge_method", "S256" },
      });
  }

  // Takes what the browser brought to the callback. Returns false if this game hasn't begun the login.
  public async Task<bool> LogIn(string returnedState, string code) {
    if (state == null || returnedState != state || code == null) return false;
    state = null;
    var tokens = await Ask<Tokens>(new HttpRequestMessage(HttpMethod.Post, berth + "/api/oauth/token") {
      Content = new FormUrlEncodedContent(new Dictionary<string, string> {
        { "grant_type", "authorization_code" },
        { "client_id", clientId },
        { "code", code },
        { "redirect_uri", callback },
        { "code_verifier", verifier },
      }),
    });
    accessToken = tokens.AccessToken;
    return true;
  }

  public bool IsLoggedIn { get { return accessToken != null; } }

  async Task<T> Ask<T>(HttpRequestMessage request) {
    if (accessToken != null) request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", accessToken);
    using (var answer = await http.SendAsync(request)) {
      if (!answer.IsSuccessStatusCode)
        throw new Refusal((int)answer.StatusCode, await answer.Content.ReadAsStringAsync());
      return (T)new DataContractJsonSerializer(typeof(T)).ReadObject(await answer.Content.ReadAsStreamAsync());
    }
  }

  static string Form(Dictionary<string, string> fields) {
    return string.Join("&", fields.Select(one => one.Key + "=" + Uri.EscapeDataString(one.Value)));
  }
  static string Base64Url(byte[] bytes) {
    return Convert.ToBase64String(bytes).TrimEnd('=').Replace('+', '-').Replace('/', '_');
  }
  public static string Random() {
    var bytes = new byte[32];
    using (var source = RandomNumberGenerator.Create()) source.GetBytes(bytes);
    return Base64Url(bytes);
  }
}
// [/login]

// [balance]
[DataContract] public class Points {
  [DataMember(Name = "points")] public long Number;
}

public partial class Berth {
  public async Task<long> Balance() {
    return (await Ask<Points>(new HttpRequestMessage(HttpMethod.Get, berth + "/api/external/points/balance"))).Number;
  }
}
// [/balance]

// [spend]
[DataContract] public class Purchase {
  [DataMember(Name = "amount")] public long Amount;
  [DataMember(Name = "description")] public string Description;
}

public partial class Berth {
  // Takes points from the player, once for each order, and returns how many the player has left.
  public async Task<long> Spend(long amount, string description, string order) {
    for (int attempt = 0;; ++attempt) {
      try {
        var body = new MemoryStream();
        new DataContractJsonSerializer(typeof(Purchase))
            .WriteObject(body, new Purchase { Amount = amount, Description = description });
        var request = new HttpRequestMessage(HttpMethod.Post, berth + "/api/external/points/spend") {
          Content = new ByteArrayContent(body.ToArray()),
        };
        request.Content.Headers.ContentType = new MediaTypeHeaderValue("application/json");
        request.Headers.Add("Idempotency-Key", order);
        return (await Ask<Points>(request)).Number;
      } catch (Exception failure) {
        // 422, for example, says that the player has too few points, or set a limit. Where no answer came, nobody knows
        // whether the points were taken; with the same key, asking again is safe.
        var refusal = failure as Refusal;
        bool final = refusal != null && refusal.Status < 500 && refusal.Status != 429;
        if (final || attempt == 2) throw;
      }
      await Task.Delay(1000 << attempt);
    }
  }
}
// [/spend]

// [webhook]
[DataContract] public class Event {
  [DataMember(Name = "id")] public string Id;
  [DataMember(Name = "type")] public string Type;
}

public static class Webhook {
  static readonly TimeSpan tolerance = TimeSpan.FromMinutes(5);

  // Returns the event, or null if the request isn't from berth. `body` is the bytes as they came.
  public static Event EventOf(string secret, Func<string, string> header, byte[] body) {
    string id = header("webhook-id"), moment = header("webhook-timestamp"), signatures = header("webhook-signature");
    long seconds;
    if (id == null || signatures == null || !long.TryParse(moment, out seconds)) return null;
    if (Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - seconds) > tolerance.TotalSeconds) return null;
    var key = Convert.FromBase64String(secret.StartsWith("whsec_") ? secret.Substring(6) : secret);
    byte[] wanted;
    using (var mac = new HMACSHA256(key))
      wanted = mac.ComputeHash(Encoding.UTF8.GetBytes(id + "." + moment + ".").Concat(body).ToArray());
    bool genuine = signatures.Split(' ').Any(one => Equal(one, "v1," + Convert.ToBase64String(wanted)));
    if (!genuine) return null;
    return (Event)new DataContractJsonSerializer(typeof(Event)).ReadObject(new MemoryStream(body));
  }

  // Takes as long wherever the texts differ.
  static bool Equal(string a, string b) {
    if (a.Length != b.Length) return false;
    int difference = 0;
    for (int i = 0; i < a.Length; ++i) difference |= a[i] ^ b[i];
    return difference == 0;
  }
}
// [/webhook]

// The game's own part, on one page: in Unity these are a button, a label and a listener of its own.
public static class Shop {
  static readonly HashSet<string> seen = new HashSet<string>();  // ids of events; one may come twice

  public static void Main() {
    Run().GetAwaiter().GetResult();
  }

  static async Task Run() {
    string port = Environment.GetEnvironmentVariable("PORT") ?? "3000", here = "http://127.0.0.1:" + port;
    var berth = new Berth(Environment.GetEnvironmentVariable("BERTH_URL"),
                          Environment.GetEnvironmentVariable("BERTH_CLIENT_ID"), here + "/callback");
    var listener = new HttpListener();
    listener.Prefixes.Add(here + "/");
    listener.Start();
    Console.WriteLine("the shop is at " + here);
    for (;;) {
      var visit = await listener.GetContextAsync();
      try {
        await Answer(berth, visit.Request, visit.Response);
      } catch (Refusal refusal) {
        Say(visit.Response, 422, refusal.Message);
      } catch (HttpRequestException) {
        Say(visit.Response, 502, "berth doesn't answer.");
      }
    }
  }

  static async Task Answer(Berth berth, HttpListenerRequest request, HttpListenerResponse response) {
    switch (request.HttpMethod + " " + request.Url.AbsolutePath) {
      case "GET /login":
        response.Redirect(berth.LoginAddress());
        response.Close();
        return;
      case "GET /callback":
        if (!await berth.LogIn(request.QueryString["state"], request.QueryString["code"])) {
          Say(response, 400, "This login wasn't begun here, or you have refused.");
          return;
        }
        response.Redirect("/");
        response.Close();
        return;
      case "POST /buy":
        var order = Regex.Match(new StreamReader(request.InputStream).ReadToEnd(), @"order=([\w-]+)").Groups[1].Value;
        if (!berth.IsLoggedIn || order == "") Say(response, 403, "Log in first.");
        else Say(response, 200, "It is yours. You have " + await berth.Spend(5, "A shield", order) + " points left.");
        return;
      case "POST /webhooks":
        var body = new MemoryStream();
        request.InputStream.CopyTo(body);
        var found = Webhook.EventOf(Environment.GetEnvironmentVariable("BERTH_WEBHOOK_SECRET") ?? "",
                                    name => request.Headers[name], body.ToArray());
        if (found != null && seen.Add(found.Id)) Console.WriteLine("event: " + found.Type);
        Say(response, found != null ? 200 : 400, "");
        return;
      default:
        if (!berth.IsLoggedIn) Say(response, 200, "<a href=/login>Log in with berth</a>");
        else Say(response, 200, "You have " + await berth.Balance() + " points. <form method=post action=/buy>" +
                 "<button name=order value=" + Berth.Random() + ">Buy a shield for 5</button></form>");
        return;
    }
  }

  static void Say(HttpListenerResponse response, int status, string text) {
    var bytes = Encoding.UTF8.GetBytes(text);
    response.StatusCode = status;
    response.ContentType = "text/html; charset=utf-8";
    response.OutputStream.Write(bytes, 0, bytes.Length);
    response.Close();
  }
}
