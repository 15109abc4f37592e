// One call of the API as code in each language of the samples.
export interface Request {
  method: string;
  url: string;
  headers: [string, string][]; // a value with $NAME in it takes a variable's place
  body: string | undefined; // JSON
}

// Quotes a text for a POSIX shell.
const quoted = (text: string) => `'${text.replace(/'/g, `'\\''`)}'`;
const indented = (text: string, by: string) => text.replace(/\n/g, `\n${by}`);
const variable = /\$([A-Z_]+)/;
const name_of = (value: string) => variable.exec(value)?.[1];

function curl({ method, url, headers, body }: Request): string {
  return [
    `curl -sS${method === 'GET' ? '' : ` -X ${method}`} ${quoted(url)}`,
    ...headers.map(([name, value]) => `-H ${name_of(value) ? `"${name}: ${value}"` : quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ].join(' \\\n  ');
}

function typescript({ method, url, headers, body }: Request): string {
  const value = (text: string) => {
    const name = name_of(text);
    return name ? `\`${text.replace(`$${name}`, `\${process.env.${name}}`)}\`` : `'${text}'`;
  };
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length
      ? [`  headers: {`, ...headers.map(([name, text]) => `    '${name}': ${value(text)},`), '  },']
      : []),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(body, '  ')}),`]),
  ];
  const given = options.length ? `, {\n${options.join('\n')}\n}` : '';
  return `const answer = await fetch('${url}'${given});
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.json());`;
}

const python_value = (text: string) =>
  text
    .replace(/\btrue\b/g, 'True')
    .replace(/\bfalse\b/g, 'False')
    .replace(/\bnull\b/g, 'None');
function python({ method, url, headers, body }: Request): string {
  const value = (text: string) => {
    const name = name_of(text);
    return name ? `f"${text.replace(`$${name}`, `{os.environ['${name}']}`)}"` : `"${text}"`;
  };
  const data = body === undefined ? '' : `body = ${python_value(body)}\n`;
  const given = headers.map(([name, text]) => `    "${name}": ${value(text)},\n`).join('');
  return `import json, os, urllib.request

${data}request = urllib.request.Request("${url}", method="${method}"${body === undefined ? '' : ', data=json.dumps(body).encode()'}${given ? `, headers={\n${given}}` : ''})
with urllib.request.urlopen(request) as answer:
    print(json.load(answer))`;
}

function go({ method, url, headers, body }: Request): string {
  const value = (text: string) => {
    const name = name_of(text);
    return name ? `"${text.replace(`$${name}`, '')}"+os.Getenv("${name}")` : `"${text}"`;
  };
  const set = headers.map(([name, text]) => `request.Header.Set("${name}", ${value(text)})\n`).join('');
  return `${body === undefined ? '' : `body := \`${body}\`\n`}request, err := http.NewRequest("${method}", "${url}", ${body === undefined ? 'nil' : 'strings.NewReader(body)'})
if err != nil {
	log.Fatal(err)
}
${set}answer, err := http.DefaultClient.Do(request)
if err != nil {
	log.Fatal(err)
}
defer answer.Body.Close()
io.Copy(os.Stdout, answer.Body)`;
}

function csharp({ method, url, headers, body }: Request): string {
  const value = (text: string) => {
    const name = name_of(text);
    return name ? `"${text.replace(`$${name}`, '')}" + Environment.GetEnvironmentVariable("${name}")` : `"${text}"`;
  };
  const own = headers.filter(([name]) => name !== 'Content-Type');
  const set = own.map(([name, text]) => `request.Headers.Add("${name}", ${value(text)});\n`).join('');
  const content =
    body === undefined
      ? ''
      : `request.Content = new StringContent(@"${body.replace(/"/g, '""')}", Encoding.UTF8, "application/json");\n`;
  return `var request = new HttpRequestMessage(new HttpMethod("${method}"), "${url}");
${set}${content}var answer = await new HttpClient().SendAsync(request);
answer.EnsureSuccessStatusCode();
Console.WriteLine(await answer.Content.ReadAsStringAsync());`;
}

// Each language with the name that the style of its code goes by (highlight.mjs).
export const languages: { name: string; style: string; code: (request: Request) => string }[] = [
  { name: 'curl', style: 'sh', code: curl },
  { name: 'TypeScript', style: 'ts', code: typescript },
  { name: 'Python', style: 'python', code: python },
  { name: 'Go', style: 'go', code: go },
  { name: 'C#', style: 'cs', code: csharp },
];
