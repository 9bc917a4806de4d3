"""
Breast cancer: is a low confidence a warning?
=============================================

You learn to use the confidence: samples with a low confidence are those whose cluster is often
not their class.
"""

# %%
# 569 breast masses with 30 measurements. Two clusters are compared with the diagnosis, which the
# clustering did not see.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from coterie import ConsensusClustering
from coterie.evaluate import ari
from coterie.plot import confidence

cancer = load_breast_cancer(as_frame=True)
model = ConsensusClustering(n_clusters=2, random_state=0).fit(cancer.data)
print(model.verdict_)
print(f"agreement with the diagnosis (ARI): {ari(cancer.target, model.labels_):.2f}")

# %%
# Each cluster stands for the diagnosis of most of its masses. How often is this wrong, from the
# least to the most certain fifth of the masses?

diagnosis = cancer.target.to_numpy()
usual = np.array([np.bincount(diagnosis[model.labels_ == cluster]).argmax() for cluster in (0, 1)])
wrong = usual[model.labels_] != diagnosis
fifths = np.array_split(np.argsort(model.sample_confidence_), 5)
shares = [100 * wrong[fifth].mean() for fifth in fifths]
figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.6), layout="constrained")
bars = left.bar(["least\ncertain", "2", "3", "4", "most\ncertain"], shares, color="#0072B2")
left.bar_label(bars, fmt="%.0f %%", padding=3)
left.set(ylabel="not the usual diagnosis", yticks=[])
left.spines[["top", "right", "left"]].set_visible(False)
confidence(model, ax=right)

# %%
# Which columns tell the two clusters apart?

profile = model.profile(cancer.data, external={"diagnosis": cancer.target_names[diagnosis]})
for sentence in profile.sentences:
    print(sentence)
print(profile.annotations)

# %%
# **Conclude:** there is no gap between the two groups, and the verdict says so. The clusters are
# still useful if you keep the confidence beside them: send the least certain fifth to an expert.
