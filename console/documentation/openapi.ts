// What the reference reads of the published OpenAPI document, and examples made of its schemas.
export interface Schema {
  $ref?: string;
  allOf?: Schema[];
  type?: string | string[];
  format?: string;
  description?: string;
  example?: unknown;
  default?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
}
export interface Parameter {
  $ref?: string;
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  example?: unknown;
  schema?: Schema;
}
export interface Media {
  schema?: Schema;
  example?: unknown;
}
export interface Answer {
  $ref?: string;
  description: string;
  content?: Record<string, Media>;
}
export interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, Media> };
  responses: Record<string, Answer>;
  security?: Record<string, string[]>[];
  'x-rate-limit'?: { limit: number; window_seconds: number };
}
export interface Document {
  info: { title: string; version: string; description?: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
}
export interface Call extends Operation {
  method: string;
  path: string;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];
const deepest = 6; // levels of an example

export const calls = (document: Document): Call[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    methods.filter((method) => item[method]).map((method) => ({ ...item[method]!, method, path })),
  );

// Follows a reference within the document.
export function resolve<T extends { $ref?: string }>(document: Document, thing: T): T {
  if (!thing.$ref) return thing;
  const [, , kind, name] = thing.$ref.split('/');
  return resolve(document, document.components[kind!]![name!] as T);
}

// The schema itself, with the parts of allOf put together.
export function whole(document: Document, schema: Schema): Schema {
  const found = resolve(document, schema);
  if (!found.allOf) return found;
  const parts = found.allOf.map((part) => whole(document, part));
  return {
    ...Object.assign({}, ...parts),
    ...found,
    allOf: undefined,
    properties: Object.assign({}, ...parts.map((part) => part.properties ?? {}), found.properties ?? {}),
    required: [...parts.flatMap((part) => part.required ?? []), ...(found.required ?? [])],
  };
}

export function example(document: Document, given: Schema, depth = 0): unknown {
  const schema = whole(document, given);
  if (schema.example !== undefined) return schema.example;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (depth > deepest) return null;
  if (type === 'array') return schema.items ? [example(document, schema.items, depth + 1)] : [];
  if (type === 'object' || schema.properties)
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, part]) => [name, example(document, part, depth + 1)]),
    );
  return type === 'integer' || type === 'number' ? (schema.minimum ?? 0) : type === 'boolean' ? false : '';
}

// The body of an example request: what must be there, and what has an example that says something.
export function body_example(document: Document, given: Schema): unknown {
  const schema = whole(document, given);
  const made = example(document, schema);
  if (!schema.properties || typeof made !== 'object' || made === null) return made;
  return Object.fromEntries(
    Object.entries(made).filter(([name, value]) => schema.required?.includes(name) || (value !== null && value !== '')),
  );
}

// "string or null, uuid, at most 32 characters"
export function kind_of(document: Document, given: Schema): string {
  const schema = whole(document, given);
  const types = [schema.type ?? (schema.properties ? 'object' : 'anything')].flat();
  const words = types
    .map((type) =>
      type === 'array' ? `array of ${schema.items ? kind_of(document, schema.items).split(',')[0] : 'anything'}` : type,
    )
    .join(' or ');
  return [
    words,
    schema.format,
    schema.enum && schema.enum.map((one) => JSON.stringify(one)).join(', '),
    schema.minimum !== undefined && `at least ${schema.minimum}`,
    schema.maximum !== undefined && `at most ${schema.maximum}`,
    schema.minLength !== undefined && schema.minLength > 1 && `at least ${schema.minLength} characters`,
    schema.maxLength !== undefined && `at most ${schema.maxLength} characters`,
    schema.maxItems !== undefined && `at most ${schema.maxItems}`,
    schema.maxProperties !== undefined && `at most ${schema.maxProperties} entries`,
    schema.pattern && `like ${schema.pattern}`,
    schema.default !== undefined && `by default ${JSON.stringify(schema.default)}`,
  ]
    .filter(Boolean)
    .join(', ');
}
