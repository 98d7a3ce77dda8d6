"""Trains small models of classical machine learning on numbers that a seed gives, and exports them as ONNX: train.py FOLDER.

The packages are those of requirements.txt. Every model takes 64 rows of 10 numbers.
"""

import sys
from pathlib import Path

import lightgbm
import numpy as np
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as ToolsTensor
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.ensemble import GradientBoostingRegressor, IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR

ROWS, FEATURES = 64, 10


def data():
    """Points of three classes, and a number for each."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, FEATURES)).astype(np.float32)
    score = x @ rng.normal(size=(FEATURES, 3)) + np.sin(2 * x[:, :3])
    return x, score.argmax(axis=1), score.max(axis=1).astype(np.float32)


def scikit(model):
    classes = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
    return to_onnx(model, initial_types=[("x", FloatTensorType([ROWS, FEATURES]))], options=classes, target_opset={"": 18, "ai.onnx.ml": 3})


def tools(convert, model):
    return convert(model, initial_types=[("x", ToolsTensor([ROWS, FEATURES]))], target_opset=15)


def main(folder):
    x, labels, numbers = data()
    one = {"n_jobs": 1, "random_state": 0}
    trained = {
        "logistic": LogisticRegression(max_iter=500),
        "forest": RandomForestClassifier(n_estimators=50, max_depth=8, **one),
        "svc": SVC(probability=False, random_state=0),
        "mlp": make_pipeline(StandardScaler(), MLPClassifier((32, 16), max_iter=60, random_state=0)),
        "polynomial": make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression(max_iter=500)),
        "isolation": IsolationForest(n_estimators=50, **one),
    }
    regression = {"boosting": GradientBoostingRegressor(n_estimators=50, random_state=0), "svr": SVR(), "neighbours": KNeighborsRegressor(5)}
    made = {"sklearn-" + name: scikit(m.fit(x, labels)) for name, m in trained.items()}
    made |= {"sklearn-" + name: scikit(m.fit(x, numbers)) for name, m in regression.items()}
    light = {"n_estimators": 40, "deterministic": True, "verbose": -1, **one}
    made["lightgbm-classifier"] = tools(lambda m, **k: convert_lightgbm(m, zipmap=False, **k), lightgbm.LGBMClassifier(**light).fit(x, labels))
    made["lightgbm-regressor"] = tools(convert_lightgbm, lightgbm.LGBMRegressor(**light).fit(x, numbers))
    made["xgboost-classifier"] = tools(convert_xgboost, xgboost.XGBClassifier(n_estimators=40, max_depth=5, **one).fit(x, labels))
    made["xgboost-regressor"] = tools(convert_xgboost, xgboost.XGBRegressor(n_estimators=40, max_depth=5, **one).fit(x, numbers))
    for name, model in made.items():
        (folder / (name + ".onnx")).write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
