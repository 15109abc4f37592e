// The first script of the page. It is small, so that the texts and the first readings are on their way while the
// console itself is still being loaded: on a telephone, each answer that is waited for takes a sixth of a second.
import { begun, headersFor, options, page_size } from './begun';
import './messages/load';

for (const url of ['/api/auth/me', '/health', `/api/operator/apps?page_size=${page_size}`]) {
  const answer = fetch(url, { ...options, headers: { Accept: 'application/json', ...headersFor() } });
  answer.catch(() => {}); // whoever takes it handles the failure
  begun.set(url, answer);
}
