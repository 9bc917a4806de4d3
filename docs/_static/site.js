// the buttons that unfold a section of the sidebar have only an icon: give them a name to be read aloud
for (const icon of document.querySelectorAll("summary > .toctree-toggle"))
  icon.parentElement.setAttribute("aria-label", "Pages of this section");
