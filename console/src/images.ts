// The name of an image in full, as berthd and container runtimes read what people write (controller/base/image_reference.h).
// tests/images/names.json has what both make of it.

const official = 'library/';

// What an address leads to: hub.docker.com/_/nginx, github.com/acme/shop/pkgs/container/web, https://ghcr.io/acme/web.
function image_at(text: string): string {
  const bare = text.replace(/^https?:\/\//, '');
  const mark = bare.search(/[?#]/);
  const tagged = mark < 0 ? null : /tag=([^&#]*)/.exec(bare.slice(mark + 1));
  const tag = tagged ? `:${tagged[1]}` : '';
  let plain: string;
  try {
    plain = decodeURIComponent(mark < 0 ? bare : bare.slice(0, mark));
  } catch {
    return '';
  }
  const [first = '', ...path] = plain.split('/').filter(Boolean);
  const host = first.toLowerCase();
  const [kind, one, two, three] = path;
  if (host === 'hub.docker.com') {
    if (kind === '_' && one) return `docker.io/library/${one}${tag}`;
    if (kind === 'r' && one && two) return `docker.io/${one}/${two}${tag}`;
    if (kind === 'layers' && one && two && three) return `docker.io/${one}/${two}:${three}`;
    if (kind === 'repository' && two && three) return `docker.io/${two}/${three}${tag}`;
  }
  const at = path.indexOf('container');
  if (/^(www\.)?github\.com$/.test(host) && at >= 0 && path.length >= 2) {
    const name = path.slice(at + 1);
    if (name[0] === 'package') name.shift();
    if (name.length > 1 && /^\d+$/.test(name.at(-1)!)) name.pop();
    const owner = kind === 'orgs' || kind === 'users' ? one : kind;
    if (name.length) return `ghcr.io/${owner}/${name.join('/')}`.toLowerCase() + tag;
  }
  return bare === text || path.length === 0 ? '' : `${host}/${path.join('/')}${tag}`;
}

export function normalized_image(text: string): string {
  const name = image_at(text.trim()) || text.trim();
  if (!name) return '';
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  const is_registry = first === 'localhost' || /[.:]/.test(first);
  let registry = is_registry ? first : 'docker.io';
  const rest = is_registry ? name.slice(slash + 1) : name;
  if (registry === 'index.docker.io' || registry === 'registry-1.docker.io') registry = 'docker.io';
  return `${registry}/${registry === 'docker.io' && !rest.includes('/') ? official : ''}${rest}`;
}

// Whether images of this name are allowed by these prefixes.
export const is_allowed = (image: string, registries: readonly string[]) =>
  registries.some((prefix) => image.startsWith(`${prefix}/`));
