// What the pages do with a script: they can be searched, code can be copied, and tabs show the language that was chosen
// last. Without it they can be read all the same.
import { choose_language, chosen_language } from './choice';
import './search';

const copied_for = 2_000; // milliseconds

// Gives each block of code a button that copies it.
function add_copy_buttons(): void {
  for (const block of document.querySelectorAll<HTMLElement>('article pre')) {
    if (block.parentElement?.classList.contains('code') || block.closest('#reference')) continue;
    const frame = document.createElement('div');
    frame.className = 'code';
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.setAttribute('aria-live', 'polite');
    button.addEventListener('click', () => {
      const say = (text: string) => {
        button.textContent = text;
        setTimeout(() => (button.textContent = 'Copy'), copied_for);
      };
      void (navigator.clipboard?.writeText(block.innerText.trimEnd()) ?? Promise.reject()).then(
        () => say('Copied'),
        () => say('Not allowed'),
      );
    });
    block.replaceWith(frame);
    frame.append(block, button);
  }
}

function follow_language(): void {
  const buttons = document.querySelectorAll<HTMLInputElement>('.tabs > input');
  const show = (name: string) => {
    for (const one of buttons) if (one.value === name) one.checked = true;
  };
  const known = chosen_language();
  if (known) show(known);
  for (const one of buttons)
    one.addEventListener('change', () => {
      choose_language(one.value);
      // The tabs above change their heights: what the reader looks at stays where it is.
      const before = one.getBoundingClientRect().top;
      show(one.value);
      scrollBy({ top: one.getBoundingClientRect().top - before, behavior: 'instant' });
    });
}

// Marks the section that is being read in the list beside the text.
function mark_section(): void {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>('.contents a')].map((link) => [
      decodeURIComponent(link.hash.slice(1)),
      link,
    ]),
  );
  if (links.size === 0) return;
  const headings = [...document.querySelectorAll<HTMLElement>('article h2[id]')];
  const below_header = 120; // pixels
  const mark = () => {
    const current = headings.filter((one) => one.getBoundingClientRect().top < below_header).at(-1) ?? headings[0];
    for (const [anchor, link] of links)
      if (anchor === current?.id) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
  };
  let waiting = false;
  addEventListener(
    'scroll',
    () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      });
    },
    { passive: true },
  );
  mark();
}

add_copy_buttons();
follow_language();
mark_section();
